# `make deb`: a Debian package in $(BUILD)/deb, of the committed tree, with dpkg-buildpackage; contrib/debian describes it.
# `make check-deb` also runs lintian.

DEB := $(BUILD)/deb/pmu-probe

deb: deps-deb
	rm -rf $(BUILD)/deb && mkdir -p $(DEB)
	git archive HEAD | tar x -C $(DEB)
	mv $(DEB)/contrib/debian $(DEB)/debian
	cd $(DEB) && dpkg-buildpackage -b -us -uc
	rm -rf $(DEB)
	@ls $(BUILD)/deb/*.deb

# A package that goes to Debian closes the bug that asked for it; this one does not
check-deb: deb
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs $(BUILD)/deb/*.changes
.PHONY: deb check-deb
